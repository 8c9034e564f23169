import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the checkout. */
export const checkout: string = dirname(dirname(fileURLToPath(import.meta.url)));
