import assert from "node:assert/strict";
import { test } from "node:test";
import {
  describeMetadataAddress,
  hostAddress,
  isLinkLocal,
  isLoopback,
} from "../../src/lib/special-addresses.ts";

test("isLinkLocal() detects the link-local networks in every IPv6 notation", () => {
  const forbidden = [
    "169.254.0.0",
    "169.254.169.254",
    "169.254.255.255",
    "fe80::1",
    "fe80::1%eth0",
    "febf:ffff::1",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "::a9fe:a9fe",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
  ];
  for (const address of forbidden) assert.equal(isLinkLocal(address), true, address);
});

test("isLinkLocal() is false for loopback, private and public addresses", () => {
  for (
    const address of [
      "127.0.0.1",
      "::1",
      "10.0.0.1",
      "169.253.1.1",
      "169.255.0.1",
      "fec0::1",
      "2001:db8::1",
      "no",
    ]
  ) {
    assert.equal(isLinkLocal(address), false, address);
  }
});

test("describeMetadataAddress() detects metadata services in every notation, and nothing beside them", () => {
  for (
    const address of [
      "100.100.100.200",
      "168.63.129.16",
      "192.0.0.192",
      "::ffff:100.100.100.200",
      "::ffff:a83f:8110",
      "::a83f:8110",
      "64:ff9b::168.63.129.16",
      "2002:a83f:8110::1",
      "fd00:ec2::254",
      "fd00:0ec2:0:0::254%eth0",
      "fd20:ce::254",
    ]
  ) assert.equal(describeMetadataAddress(address), "the address of a metadata service", address);
  for (const address of ["169.254.169.254", "::ffff:169.254.1.1", "fe80::1"]) {
    assert.equal(describeMetadataAddress(address), "a link-local address", address);
  }
  for (
    const address of [
      "100.100.100.201",
      "168.63.129.17",
      "::ffff:168.63.129.17",
      "2002:a83f:8111::1",
      "fd00:ec2::255",
      "127.0.0.1",
      "::1",
      "10.0.0.1",
      "",
    ]
  ) assert.equal(describeMetadataAddress(address), undefined, address);
});

test("hostAddress() returns the address of a numeric host in every spelling", () => {
  const hosts = {
    "0xA9FEA9FE": "169.254.169.254",
    "[::1]": "::1",
    "10.1": "10.0.0.1",
    "example.com": undefined,
  };
  for (const [host, address] of Object.entries(hosts)) {
    assert.equal(hostAddress(new URL(`https://${host}:8443/`)), address, host);
  }
});

test("isLoopback() detects localhost and loopback addresses only", () => {
  for (const host of ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1"]) {
    assert.ok(isLoopback(host), host);
  }
  for (const host of ["", "localhost.example.com", "10.0.0.1", "128.0.0.1", "::2", "127.0.0.1.example.com"]) {
    assert.ok(!isLoopback(host), host);
  }
});
