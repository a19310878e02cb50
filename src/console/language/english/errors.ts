/** What the server answers, whose own sentences are English. */
export const errors = {
  /** A sentence of the server about what went wrong, or what somebody should know. `code`: of the error, if it is one. */
  sentence: (sentence: string, _code?: string) => sentence,
  /** A fault of a field, such as "is required.", after the name of the field. */
  fault: (name: string, fault: string) => `${name} ${fault}`,
}
