/**
 * The text that header blocks of SPDY/3 may refer to, a constant of the protocol: names and values, each after its length, and then
 * words without one. Its Adler-32 checksum identifies it in the first block of a connection.
 */
import { Buffer } from "node:buffer";

const names = [
  "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow",
  "authorization cache-control connection content-base content-encoding content-language content-length content-location",
  "content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match",
  "if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range",
  "referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method",
  "get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin",
].join(" ").split(" ").map((name) => name.replace("_", " "));

const words = [
  "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505",
  "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized",
  "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable",
  "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT",
  "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,",
  "publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.",
].join("");

const withLength = (name: string) => `\0\0\0${String.fromCharCode(name.length)}${name}`;

export const dictionary: Uint8Array = Buffer.from(names.map(withLength).join("") + words, "latin1");

/** The header of a zlib stream that uses the dictionary: method, flags, and the checksum of the dictionary. */
export const zlibHeader: Uint8Array = Uint8Array.of(0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2);
