/** Why bytes were not taken for a media result. */
export type RefusalReason =
  /** Not one of the stored types, or not of the kind that was asked for. */
  | 'unsupported_type'
  /** Of a stored type, but cut short or broken. */
  | 'damaged'
  /** More bytes, or more pixels, than allowed. */
  | 'too_large'

/**
 * Bytes that are no usable media result. Its message is public: it never repeats the bytes. Fetching the same
 * bytes again gives the same refusal; only `damaged` may come from a transfer that broke off unnoticed.
 */
export class MediaRefused extends Error {
  readonly reason: RefusalReason

  constructor(reason: RefusalReason, message: string) {
    super(message)
    this.name = 'MediaRefused'
    this.reason = reason
  }
}
