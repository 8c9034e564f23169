/**
 * A ValidatingAdmissionPolicy (API servers 1.30 and later) that checks the caps of NCApps against the LimitRanges of their
 * namespace when they are written. The scheduler checks them at the bind, which a manual `nodeName` or a later edit would bypass.
 *
 * An app without a cap is refused only if it is bound: the bind fills in the default. An edit that leaves caps and node alone
 * always passes, so that an app that is out of bounds can be suspended and unbound. Agents are exempt: the apps that they
 * mirror run anyway. Sums (ResourceQuota) are beyond a policy.
 */
import { group, limitRangeKeys, limitRangeType, plural } from "../names.ts";
import { isNoAgent, withBinding } from "./policy-parts.ts";

const name = "nckubelet-limit-range";
const fields = ["cpuPCT", "memPCT"] as const;

/** Returns the policy and its binding, which passes every LimitRange of the namespace to it. */
export function buildLimitRangePolicy(): object[] {
  return withBinding(name, {
    failurePolicy: "Fail",
    paramKind: { apiVersion: "v1", kind: "LimitRange" },
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: [group],
          apiVersions: ["*"],
          operations: ["CREATE", "UPDATE"],
          resources: [plural],
          scope: "*",
        },
      ],
    },
    matchConditions: [
      { name: "is-no-agent", expression: isNoAgent },
      {
        name: "changes-caps-or-binds",
        expression: `request.operation == 'CREATE' || ${fields.map(changes).join(" || ")} || ` +
          `(${valueOf("object", "nodeName")} != '' && ${changes("nodeName")})`,
      },
    ],
    variables: fields.map((field) => ({ name: field, expression: capOf(field) })),
    validations: fields.map((field) => ({
      expression:
        `!has(params.spec.limits) || params.spec.limits.all(limit, limit.type != '${limitRangeType}' || ` +
        `(${within(field, "max")} && ${within(field, "min")}))`,
      messageExpression: `'spec.${field}: Invalid value: "' + ${valueOf("object", field)} + ` +
        `'": out of the bounds of LimitRange ' + params.metadata.name`,
      reason: "Forbidden",
    })),
  }, { paramRef: { selector: {}, parameterNotFoundAction: "Allow" } });
}

function valueOf(object: string, field: string): string {
  return `(has(${object}.spec) && has(${object}.spec.${field}) ? string(${object}.spec.${field}) : '')`;
}

function changes(field: string): string {
  return `${valueOf("object", field)} != ${valueOf("oldObject", field)}`;
}

/** Zero stands for no cap. */
function capOf(field: string): string {
  const value = valueOf("object", field);
  return `${value} == '' ? 0.0 : double(${value}.replace('%', ''))`;
}

function within(field: typeof fields[number], bound: "min" | "max"): string {
  const key = limitRangeKeys[field];
  const amount = `quantity(limit.${bound}['${key}']).asApproximateFloat()`;
  const fits = bound === "max" ? `variables.${field} <= ${amount}` : `variables.${field} >= ${amount}`;
  return `(!has(limit.${bound}) || !('${key}' in limit.${bound}) || ` +
    `(variables.${field} == 0.0 ? ${valueOf("object", "nodeName")} == '' : ${fits}))`;
}
