import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'

/** A page of the documentation: its path from the root of the checkout, and its text. */
export type Page = { path: string; text: string }

/** README, CONTRIBUTING and everything in docs/. */
export function pages(): Page[] {
  const inDocs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
  return ['README.md', 'CONTRIBUTING.md', ...inDocs.toSorted()].map((path) => ({
    path,
    text: readFileSync(join(root, path), 'utf8'),
  }))
}

/** The anchor of a heading, as GitHub makes it. */
const slugOf = (heading: string): string =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')

/** Every anchor of a page: its headings and every `<a id>`, outside of code blocks. */
export function anchorsOf(text: string): Set<string> {
  const prose = text.replace(/^```.*?^```$/gms, '')
  const headings = Array.from(prose.matchAll(/^#{1,6} (.+)$/gm), ([, heading]) => slugOf(heading!))
  const marked = Array.from(prose.matchAll(/<a id="([^"]+)">/g), ([, id]) => id!)
  return new Set([...headings, ...marked])
}

/**
 * What is wrong with a reference such as `docs/money.md#debt`; null if its target exists. `path` is relative to the
 * root.
 */
export function faultOf(path: string, anchor: string | undefined): string | null {
  if (!existsSync(join(root, path))) return `${path} does not exist`
  if (anchor === undefined || anchorsOf(readFileSync(join(root, path), 'utf8')).has(anchor)) return null
  return `${path} has no anchor #${anchor}`
}
