/**
 * A request as code, in the language that is chosen.
 */
import { useState } from 'preact/hooks'
import type { ChatFields, MediaFields } from '../../api/gateway.ts'
import { Code } from '../../parts/basics.tsx'
import { asCurl, asPython, asSdk } from './examples.ts'

const LANGUAGES = [
  ['curl', asCurl],
  ['Python', asPython],
  ['JavaScript', asSdk],
] as const

/** The request in curl, Python or JavaScript. */
export function Languages({ kind, fields }: { kind: 'chat' | 'image' | 'video'; fields: ChatFields | MediaFields }) {
  const [language, setLanguage] = useState<(typeof LANGUAGES)[number][0]>('curl')
  const write = LANGUAGES.find(([name]) => name === language)![1]
  return (
    <>
      <div class="row languages" role="group" aria-label="Language">
        {LANGUAGES.map(([name]) => (
          <button
            key={name}
            type="button"
            class={name === language ? 'small' : 'small quiet'}
            aria-pressed={name === language}
            onClick={() => setLanguage(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <Code text={write(kind, fields)} />
    </>
  )
}
