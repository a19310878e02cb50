/** Renders mails as text and HTML from one description. Pure. */
import type { Language } from '../terms/languages.ts'

/** A mail's content. */
export type MailContent = { subject: string; text: string; html: string }

/** A mail before it is rendered: paragraphs, and perhaps one button. */
export type Draft = { subject: string; paragraphs: string[]; action?: Action; closing: string[] }

/** A button. `otherwise`: what to do where its address does not arrive as it was sent. */
export type Action = { label: string; url: string; otherwise?: string }

/** The name of the product in mails. */
export const PRODUCT = 'Tollgate'

/**
 * A name in quotes. No matter what it contains, no mail program shows it as a link: word joiners break up addresses.
 */
export const quoted = (name: string): string => `"${name.replace(/[.:/@]/g, '$&\u2060')}"`

/** A number of credits as people read it: 10,500. */
export const countedCredits = (credits: unknown): string => Number(credits).toLocaleString('en')

/** Renders a mail. */
export const write = (draft: Draft, language: Language = 'en'): MailContent => ({
  subject: draft.subject,
  text: writeText(draft),
  html: writeHtml(draft, language),
})

/** Above the address of a button. */
const PASTE: Record<Language, string> = {
  en: 'If the button does not work, paste this address into your browser:',
  'zh-CN': '如果按钮无法使用，请将以下地址粘贴到浏览器中打开：',
}

const linesOf = (action: Action | undefined): string[] =>
  action ? [action.url, ...(action.otherwise === undefined ? [] : [action.otherwise])] : []

const writeText = ({ paragraphs, action, closing }: Draft): string =>
  `${[...paragraphs, ...linesOf(action), ...closing, `-- \n${PRODUCT}`].join('\n\n')}\n`

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character]!)

// Mail clients support tables and inline styles, and little else.
const BODY =
  'margin:0;padding:24px;background:#f4f4f5;color:#18181b;' +
  'font:16px/1.5 -apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif'
const CARD = 'max-width:520px;margin:0 auto;padding:32px;background:#ffffff;border:1px solid #e4e4e7;border-radius:8px'
const BUTTON =
  'display:inline-block;padding:12px 20px;background:#18181b;color:#ffffff;' +
  'text-decoration:none;border-radius:6px;font-weight:600'
const SMALL = 'margin:0 0 12px;font-size:13px;color:#52525b;word-break:break-all'

function writeHtml({ subject, paragraphs, action, closing }: Draft, language: Language): string {
  const plain = (text: string): string => `<p style="margin:0 0 16px">${escape(text)}</p>`
  const button =
    action &&
    [
      `<p style="margin:24px 0"><a href="${escape(action.url)}" style="${BUTTON}">${escape(action.label)}</a></p>`,
      `<p style="${SMALL}">${PASTE[language]}`,
      `<br>${escape(action.url)}</p>`,
      ...(action.otherwise === undefined ? [] : [`<p style="${SMALL}">${escape(action.otherwise)}</p>`]),
    ].join('\n')
  return [
    '<!doctype html>',
    `<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">`,
    `<title>${escape(subject)}</title></head>`,
    `<body style="${BODY}"><table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td>`,
    `<div style="${CARD}">`,
    ...paragraphs.map(plain),
    ...(button ? [button] : []),
    ...closing.map(plain),
    `<p style="margin:24px 0 0;font-size:13px;color:#71717a">${PRODUCT}</p>`,
    '</div></td></tr></table></body></html>',
    '',
  ].join('\n')
}
