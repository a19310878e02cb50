/** A chunk of a streamed chat. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Chunk = Record<string, any>

/** The chunks of a stream, without its `[DONE]`. */
export const chunksOf = (text: string): Chunk[] =>
  text
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as Chunk)

/** The words of a choice. */
export const textOf = (chunks: readonly Chunk[], index = 0): string =>
  chunks
    .flatMap((chunk) => chunk.choices ?? [])
    .filter((choice: Chunk) => choice.index === index)
    .map((choice: Chunk) => choice.delta.content ?? '')
    .join('')
