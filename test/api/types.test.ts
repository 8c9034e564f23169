/** Checked by the compiler: the types follow from the schema. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  DefaultedSpec,
  EnvVar,
  NCApp,
  NCAppSpec,
  NCAppStatus,
  Phase,
  Probe,
} from "../../src/api/types.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
const holds = <_T extends true>() => {};

test("fields have the types of the schema", () => {
  holds<Equal<NCAppSpec["cpuPCT"], string | number | undefined>>();
  holds<Equal<NCAppSpec["restartPolicy"], "Always" | "OnFailure" | "Never" | undefined>>();
  holds<Equal<DefaultedSpec["restartPolicy"], "Always" | "OnFailure" | "Never">>();
  holds<Equal<DefaultedSpec["cpuPCT"], string | number | undefined>>();
  holds<Equal<NCAppSpec["nodeSelector"], { [name: string]: string } | undefined>>();
  holds<Equal<NCAppSpec["livenessProbe"], Probe | undefined>>();
  holds<Equal<NonNullable<DefaultedSpec["livenessProbe"]>["periodSeconds"], number>>();
  holds<Equal<NonNullable<NCAppSpec["env"]>[number], EnvVar>>();
  holds<Equal<NCAppStatus["phase"], Phase | undefined>>();
  holds<Equal<NCApp["spec"], NCAppSpec>>();
  holds<Equal<NCApp["kind"], "NCApp">>();
});

test("values that the schema rejects do not compile", () => {
  // @ts-expect-error: not one of the enum
  const policy: NCAppSpec = { restartPolicy: "Sometimes" };
  // @ts-expect-error: no such field
  const typo: NCAppSpec = { cpuPct: "20" };
  // @ts-expect-error: name is required
  const env: EnvVar = { value: "x" };
  // @ts-expect-error: has a default, so it is there
  const spec: DefaultedSpec = { ...({} as DefaultedSpec), pidsMax: undefined };
  assert.ok(policy && typo && env && spec);
});
