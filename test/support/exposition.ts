/** Prometheus's text format, version 0.0.4, as prom-client writes it. */

type Sample = { name: string; labels: Record<string, string>; value: number }

/** A metric with its samples: those of `x_bucket`, `x_sum` and `x_count` belong to the histogram `x`. */
export type Family = { name: string; samples: Sample[] }

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\]|\\[\\n"])*",?)+)\})? (\S+)$/
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g

/** Reads a whole answer. @throws Error with a line that breaks the format, or that is there twice */
export function readExposition(text: string): Map<string, Family> {
  const families = new Map<string, Family>()
  const seen = new Set<string>()
  let family: Family | undefined
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const [, kind, name] = /^# (HELP|TYPE) (\S+) /.exec(line) ?? []
    if (name !== undefined) {
      if (kind === 'HELP' && families.has(name)) throw new Error(`${name} is in two places`)
      if (kind === 'HELP') families.set(name, (family = { name, samples: [] }))
      continue
    }
    const [, sample, labels = '', value] = SAMPLE.exec(line) ?? []
    const key = line.slice(0, line.lastIndexOf(' '))
    if (sample === undefined || !family || !sample.startsWith(family.name) || seen.has(key)) throw new Error(line)
    seen.add(key)
    family.samples.push({ name: sample, labels: labelsOf(labels), value: Number(value!.replace('Inf', 'Infinity')) })
  }
  return families
}

const ESCAPED: Record<string, string> = { '\\\\': '\\', '\\n': '\n', '\\"': '"' }

const labelsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(LABEL)].map(([, name, value]) => [name!, value!.replaceAll(/\\./g, (two) => ESCAPED[two]!)]),
  )

/** The sum of the samples with these labels; undefined if there is none. */
export function valueOf(
  families: Map<string, Family>,
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''))
  const fitting = family?.samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )
  if (!fitting || fitting.length === 0) return undefined
  return fitting.reduce((sum, { value }) => sum + value, 0)
}
