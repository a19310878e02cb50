/** Boxes of ISO base media files (ISO 14496-12), such as MP4, M4A and QuickTime. Pure. */

/** What a box states of itself: `bytes` is its whole length, 0 if it reaches to the end of what is around it. */
export type BoxHead = { type: string; bytes: number; headBytes: 8 | 16 }

/** Whether the head of a box that begins with these bytes has 16 bytes, not 8. */
export const isLongHead = (head: Buffer): boolean => head.readUInt32BE(0) === 1

/** The head of a box. A long one of which less than 16 bytes are there states no length. */
export function boxHead(head: Buffer): BoxHead {
  const type = head.toString('latin1', 4, 8)
  if (!isLongHead(head)) return { type, bytes: head.readUInt32BE(0), headBytes: 8 }
  return { type, bytes: head.length < 16 ? 0 : Number(head.readBigUInt64BE(8)), headBytes: 16 }
}
