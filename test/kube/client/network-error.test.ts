import assert from "node:assert/strict";
import { test } from "node:test";
import { explainNetworkError } from "../../../src/kube/client/network-error.ts";

const explain = (fields: { code?: string; message?: string; errors?: Error[] }) => {
  const { message, code } = explainNetworkError(Object.assign(new Error(fields.message), fields)) as {
    message: string;
    code?: string;
  };
  return { message, code };
};

test("errors of the network and of TLS become sentences that keep the code", () => {
  assert.deepEqual(explain({ code: "ECONNREFUSED", message: "connect ECONNREFUSED 127.0.0.1:1" }), {
    message: "nothing listens there (ECONNREFUSED)",
    code: "ECONNREFUSED",
  });
  const openssl =
    "40E3:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../x.c:78:";
  assert.match(
    explain({ code: "ERR_SSL_WRONG_VERSION_NUMBER", message: openssl }).message,
    /does not speak TLS/,
  );
  assert.equal(
    explain({ code: "ERR_SSL_OTHER", message: "1:error:0A000412:SSL routines:x:bad certificate:../y.c:1:" })
      .message,
    "TLS failed: bad certificate (ERR_SSL_OTHER)",
  );
  const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
  assert.match(explain({ message: "", errors: [refused, refused] }).message, /nothing listens there/);
});

test("an error without a known meaning stays as it is", () => {
  const error = new Error("odd");
  assert.equal(explainNetworkError(error), error);
});
