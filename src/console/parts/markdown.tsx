/**
 * What models write, as they mean it: Markdown. Elements are made from the parser's tokens, never from HTML, so that
 * nothing that a model writes can become a script, a form or a request: raw HTML and images are shown as text.
 */
import type { ComponentChildren } from 'preact'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Token, Tokens } from 'marked'
import { lexer } from 'marked'
import { t } from '../language/language.ts'
import { Copy } from './basics.tsx'

/** A text in Markdown. A text may be incomplete, while it is being written. */
export const Markdown = ({ text }: { text: string }) => <div class="markdown">{lexer(text).map(block)}</div>

const inline = (tokens: Token[] | undefined): ComponentChildren[] => (tokens ?? []).map(span)

function block(token: Token, key: number): ComponentChildren {
  switch (token.type) {
    case 'space':
      return null
    case 'heading':
      return <Heading key={key} heading={token as Tokens.Heading} />
    case 'code':
      return <CodeBlock key={key} text={token.text as string} />
    case 'blockquote':
      return <blockquote key={key}>{(token.tokens ?? []).map(block)}</blockquote>
    case 'list':
      return <ItemList key={key} list={token as Tokens.List} />
    case 'table':
      return <TokenTable key={key} table={token as Tokens.Table} />
    case 'hr':
      return <hr key={key} />
    case 'text':
      return <span key={key}>{token.tokens ? inline(token.tokens) : (token.text as string)}</span>
    case 'paragraph':
      return <p key={key}>{inline(token.tokens)}</p>
    default:
      return <p key={key}>{token.raw}</p>
  }
}

function span(token: Token, key: number): ComponentChildren {
  switch (token.type) {
    case 'strong':
      return <strong key={key}>{inline(token.tokens)}</strong>
    case 'em':
      return <em key={key}>{inline(token.tokens)}</em>
    case 'del':
      return <del key={key}>{inline(token.tokens)}</del>
    case 'codespan':
      return <code key={key}>{token.text as string}</code>
    case 'br':
      return <br key={key} />
    case 'link':
      return <SafeLink key={key} link={token as Tokens.Link} />
    case 'escape':
    case 'text':
      return token.text as string
    default:
      return token.raw
  }
}

/** A guide of our own: its headings are headings that links lead to, and its links lead within the console. */
export const Guide = createContext<{ hrefOf: (href: string) => string | null } | null>(null)

/** What a link to a heading has after its `#`. */
const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')

/** In what a model writes, a heading is a line: the page has headings of its own. */
function Heading({ heading: { depth, text, tokens } }: { heading: Tokens.Heading }) {
  const Level = useContext(Guide) && depth > 2 ? 'h3' : 'h2'
  if (useContext(Guide)) return <Level id={slugOf(text)}>{inline(tokens)}</Level>
  return (
    <p>
      <strong>{inline(tokens)}</strong>
    </p>
  )
}

/** Only to pages of the web: a model must not write a link that runs something. */
function SafeLink({ link: { href: written, tokens } }: { link: Tokens.Link }) {
  const guide = useContext(Guide)
  const href = guide ? guide.hrefOf(written) : written
  if (href !== null && guide && href.startsWith('/')) return <a href={href}>{inline(tokens)}</a>
  return href !== null && /^https?:\/\//i.test(href) ? (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {inline(tokens)}
    </a>
  ) : (
    <span>{inline(tokens)}</span>
  )
}

const CodeBlock = ({ text }: { text: string }) => (
  <div class="code">
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
    <Copy text={text} />
  </div>
)

function ItemList({ list: { ordered, start, items } }: { list: Tokens.List }) {
  const elements = items.map((item, key) => <li key={key}>{item.tokens.map(block)}</li>)
  return ordered ? <ol start={start === '' ? 1 : start}>{elements}</ol> : <ul>{elements}</ul>
}

const TokenTable = ({ table: { header, rows } }: { table: Tokens.Table }) => (
  <div class="scroll" tabIndex={0} role="region" aria-label={t.calls.table}>
    <table>
      <thead>
        <tr>
          {header.map((cell, key) => (
            <th key={key} scope="col">
              {inline(cell.tokens)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            {row.map((cell, key) => (
              <td key={key}>{inline(cell.tokens)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
