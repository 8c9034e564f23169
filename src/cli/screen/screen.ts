/** What commands print: tables, colours, an app's whole story, and screens that refresh in place. */
export { ageOf, appTable } from "./app-table.ts";
export { describeApp } from "./describe-app.ts";
export { formatObject, isForPrograms, outputFlag, type OutputFormat, outputFormat } from "./output.ts";
export { type Colour, paintFor, printableLine } from "./paint.ts";
export { formatTable } from "./table.ts";
export { byUse, topLines } from "./top-screen.ts";
export { watchScreen } from "./watch-screen.ts";
