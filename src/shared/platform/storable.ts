/** Whether Postgres can store a text: it takes neither NUL nor a lone surrogate. Pure. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')
