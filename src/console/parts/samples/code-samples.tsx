/**
 * A request as code, in the API and the language that are chosen.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import { Code } from '../basics.tsx'
import type { Example } from './samples.ts'
import { samplesOf } from './samples.ts'

const words = t.playground

/** The request in curl, Python or JavaScript; a chat in each of its APIs. */
export function CodeSamples({ example }: { example: Example }) {
  const samples = samplesOf(example, location.origin)
  const [api, setApi] = useState(samples[0]!.api)
  const [language, setLanguage] = useState(samples[0]!.language)
  const apis = [...new Set(samples.map((sample) => sample.api))]
  const ofApi = samples.filter((sample) => sample.api === api)
  const shown = ofApi.find((sample) => sample.language === language) ?? ofApi[0]!
  return (
    <>
      {apis.length > 1 && <Choices label="API" names={apis} chosen={api} choose={setApi} />}
      <Choices
        label={words.language}
        names={ofApi.map((sample) => sample.language)}
        chosen={shown.language}
        choose={setLanguage}
      />
      <Code text={shown.code} />
    </>
  )
}

type ChoicesProps = { label: string; names: string[]; chosen: string; choose: (name: string) => void }

const Choices = ({ label, names, chosen, choose }: ChoicesProps) => (
  <div class="row languages" role="group" aria-label={label}>
    {names.map((name) => (
      <button
        key={name}
        type="button"
        class={name === chosen ? 'small' : 'small quiet'}
        aria-pressed={name === chosen}
        onClick={() => choose(name)}
      >
        {name}
      </button>
    ))}
  </div>
)
