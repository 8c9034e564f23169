/** Project rules for `deno lint`: what only the entry point may use, and that nothing needs Deno. */

const entry = "/src/main.ts";
const reserved = /^(?:env|argv|on|once|addListener)$/;

const plugin: Deno.lint.Plugin = {
  name: "house",
  rules: {
    runtime: {
      create: (context) => {
        if (!/\/(?:src|cgroups)\//.test(context.filename)) return {};
        return {
          MemberExpression({ object, property, range }) {
            if (object.type !== "Identifier" || property.type !== "Identifier") return;
            if (object.name === "Deno") {
              context.report({ range, message: "uses Deno: only what Node has too" });
            }
            if (
              object.name === "process" && reserved.test(property.name) && !context.filename.endsWith(entry)
            ) {
              const message =
                `uses process.${property.name}: only src/main.ts reads arguments, environment and signals`;
              context.report({ range, message });
            }
          },
        };
      },
    },
  },
};

export default plugin;
