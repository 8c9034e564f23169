/** What one probe found. A failed probe is a value; a throw means that the prober itself broke. */
export interface ProbeResult {
  ok: boolean;
  message: string;
}
