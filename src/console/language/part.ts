/** A piece of a text: a string, an element, or a list of them. Preact's own type, which the tests could not import. */
export type Part = object | string | number | bigint | boolean | null | undefined
