/** One line of `nckubelet doctor`. A message about trouble says what to do. */
export interface Finding {
  check: string;
  level: "ok" | "warning" | "problem";
  message: string;
}
