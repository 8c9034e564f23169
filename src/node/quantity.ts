/** Quantities in the form in which the API server stores them, so that what it returns equals what was sent. */

/** Formats cores: `2`, `1500m`. */
export function formatCores(cores: number): string {
  const thousandths = Math.floor(cores * 1000);
  return thousandths % 1000 === 0 ? String(thousandths / 1000) : `${thousandths}m`;
}

/** Formats bytes in whole KiB, with the largest unit that needs no fraction: `24682416Ki`, `2Gi`. */
export function formatBytes(bytes: number): string {
  let amount = Math.floor(bytes / 1024);
  const units = ["Ki", "Mi", "Gi", "Ti", "Pi"];
  let unit = 0;
  while (amount > 0 && amount % 1024 === 0 && unit < units.length - 1) {
    amount /= 1024;
    unit++;
  }
  return amount === 0 ? "0" : `${amount}${units[unit]}`;
}
