/** Trouble that a person has to mend before the app can start: a short reason and a message with the field and the value. */
export class StartError extends Error {
  override name = "StartError";
  readonly reason: string;
  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
