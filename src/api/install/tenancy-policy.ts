/**
 * ValidatingAdmissionPolicies (API servers 1.30 and later) that hold the NCApps of a namespace, and the templates of its NCAppSets, to
 * the NCAppPolicies there (`schema/policy.ts`).
 *
 * Guarantees: an app is checked when it is created and with every change of its spec, whoever writes it: so the apps of a set are
 * checked with the overrides of their nodes, also when these change later. A change that only suspends or unbinds passes, so that an app
 * from before the policy can be stopped, and so does a bind, in which a controller may also cap what had no cap. Agents are exempt: the
 * apps that they mirror run anyway.
 * Caveat: `users` is what confines an app. `scripts` says where its first program comes from; who sets variables and arguments
 * can make most scripts run other code, as the same user.
 */
import { group, plural, policyKind, setPlural, version } from "../names.ts";
import { spec } from "../schema/schema.ts";
import { isController } from "./controller-policy.ts";
import { isNoAgent, isSameField, withBinding } from "./policy-parts.ts";

/** Returns the policies, each with a binding that passes every NCAppPolicy of the namespace to it. */
export function buildTenancyPolicies(): object[] {
  return [
    ...policy("nckubelet-tenancy-apps", plural, "spec", {
      ...ruleVariables("object.spec"),
      isController,
      sameSpec: `request.operation == 'UPDATE' && ${sameExcept(["nodeName", "suspend"])} && ` +
        `(${isSameField("suspend")} || ${isTrue("object.spec", "suspend")})`,
      // What the scheduler writes with a bind. The sets controller has the same account, and writes what users put into overrides.
      onlyBinds: `variables.isController && request.operation == 'UPDATE' && ${
        sameExcept(["nodeName", ...caps])
      } && ${
        caps.map((field) => `(${isSameField(field)} || ${share(text("oldObject.spec", field))} == 0.0)`).join(
          " && ",
        )
      }`,
      passes: "variables.sameSpec || variables.onlyBinds",
    }, [nodeNameRule]),
    ...policy("nckubelet-tenancy-sets", setPlural, "spec.template.spec", {
      ...ruleVariables("object.spec.template.spec"),
      passes: "request.operation == 'UPDATE' && object.spec.template.spec == oldObject.spec.template.spec",
    }),
  ];
}

interface TenancyRule {
  /** Below the spec; for the message. */
  field: string;
  expression: string;
  /** CEL: what is wrong, after the field. */
  message: string;
}

function policy(
  name: string,
  resource: string,
  path: string,
  variables: Record<string, string>,
  otherRules: TenancyRule[] = [],
): object[] {
  const rules = tenancyRules.map((rule) => ({
    ...rule,
    expression: `variables.passes || (${rule.expression})`,
  }));
  return withBinding(name, {
    failurePolicy: "Fail",
    paramKind: { apiVersion: `${group}/${version}`, kind: policyKind },
    matchConstraints: {
      resourceRules: [{
        apiGroups: [group],
        apiVersions: ["*"],
        operations: ["CREATE", "UPDATE"],
        resources: [resource],
        scope: "*",
      }],
    },
    matchConditions: [
      { name: "is-no-agent", expression: isNoAgent },
      {
        name: "changes-spec",
        expression: "request.operation == 'CREATE' || object.spec != oldObject.spec",
      },
    ],
    variables: Object.entries(variables).map(([name, expression]) => ({ name, expression })),
    validations: [...rules, ...otherRules].map(({ field, expression, message }) => ({
      expression,
      messageExpression: `'${path}.${field}: Forbidden: ' + ${message} + ` +
        `' (${policyKind} ' + params.metadata.name + ')'`,
      reason: "Forbidden",
    })),
  }, { paramRef: { selector: {}, parameterNotFoundAction: "Allow" } });
}

const text = (object: string, field: string) => `(has(${object}.${field}) ? string(${object}.${field}) : '')`;
const isTrue = (object: string, field: string) => `(has(${object}.${field}) && ${object}.${field})`;
const sameExcept = (fields: string[]) =>
  Object.keys(spec.properties).filter((field) => !fields.includes(field)).map(isSameField).join(" && ");
const asks = (field: string) => isTrue("params.spec", field);
const caps = ["cpuPCT", "memPCT"];
const share = (value: string) => `(${value} == '' ? 0.0 : double(${value}.replace('%', '')))`;

const probes = ["livenessProbe", "readinessProbe", "startupProbe"];
const commands = ["reloadCommand"].filter((field) => field in spec.properties);

function ruleVariables(object: string): Record<string, string> {
  const first = (command: string) => `size(${object}.${command}) > 0 ? [${object}.${command}[0]] : []`;
  const started = [
    ...probes.map((probe) =>
      `(has(${object}.${probe}) && has(${object}.${probe}.exec) && has(${object}.${probe}.exec.command) && ` +
      `${first(`${probe}.exec.command`)})`
    ),
    ...commands.map((command) => `(has(${object}.${command}) && ${first(command)})`),
  ];
  return {
    user: text(object, "runAsUser"),
    group: text(object, "runAsGroup"),
    cpu: share(text(object, "cpuPCT")),
    mem: share(text(object, "memPCT")),
    allowsExec: isTrue(object, "allowExec"),
    programs: `[${text(object, "shellFile")}, ${text(object, "stopFile")}].filter(p, p != '') + ${
      started.join(" + ")
    }`,
    // What a shell or a URL parser would leave the prefix by: "..", its escaped forms, and backslashes, which URLs take for slashes.
    strays: `!has(params.spec.scripts) ? [] : variables.programs.filter(p, !(p in params.spec.scripts) && ` +
      `(p.contains('/..') || p.contains('\\\\') || p.lowerAscii().contains('%2e') || ` +
      `!params.spec.scripts.exists(prefix, prefix.endsWith('/') && p.startsWith(prefix))))`,
  };
}

const tenancyRules: TenancyRule[] = [
  {
    field: "runAsUser",
    expression: "!has(params.spec.users) || variables.user in params.spec.users",
    message: `'"' + variables.user + '" is not one of the users ' + params.spec.users.join(', ')`,
  },
  {
    field: "runAsGroup",
    expression:
      "variables.group == '' || (has(params.spec.groups) ? variables.group in params.spec.groups : " +
      "!has(params.spec.users))",
    message: `'"' + variables.group + '" is not one of the groups ' + ` +
      "(has(params.spec.groups) ? params.spec.groups.join(', ') : '')",
  },
  {
    field: "shellFile, stopFile or probes",
    expression: "size(variables.strays) == 0",
    message: `'"' + variables.strays.join('", "') + '" is not below ' + params.spec.scripts.join(', ')`,
  },
  ...([["cpuPCT", "cpu", "maxCPUPCT"], ["memPCT", "mem", "maxMemPCT"]] as const).map((
    [field, variable, most],
  ) => ({
    field,
    expression: `!has(params.spec.${most}) || ` +
      `(variables.${variable} > 0.0 && variables.${variable} <= ${share(`params.spec.${most}`)})`,
    message: `'must be set, to at most ' + params.spec.${most}`,
  })),
  {
    field: "cpuPCT, memPCT",
    expression: `!${asks("requireCaps")} || (variables.cpu > 0.0 && variables.mem > 0.0)`,
    message: "'both must be set'",
  },
  {
    field: "allowExec",
    expression: `!${asks("denyExec")} || !variables.allowsExec`,
    message: "'must not be true'",
  },
];

const nodeNameRule: TenancyRule = {
  field: "nodeName",
  expression: `!${asks("denyNodeName")} || variables.isController || ` +
    `${text("object.spec", "nodeName")} in ` +
    `['', request.operation == 'CREATE' ? '' : ${text("oldObject.spec", "nodeName")}]`,
  message: "'only the scheduler chooses the node'",
};
