/** What the server answers, whose own sentences are English. */
export const errors = {
  /** A sentence of the server: an error, with its code, or what somebody should know. */
  sentence: (sentence: string, _code?: string) => sentence,
  /** A fault of a field, such as "is required.", after the name of the field. */
  fault: (name: string, fault: string) => `${name} ${fault}`,
}
