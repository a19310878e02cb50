/**
 * A parser of Prometheus's text format, version 0.0.4, by its documentation. It throws at the first invalid line, as a
 * scraper would.
 */

type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary' | 'untyped'

type Sample = { name: string; labels: Record<string, string>; value: number }

/** A metric with its samples: those of `x_bucket`, `x_sum` and `x_count` belong to the histogram `x`. */
export type Family = { name: string; help: string; type: MetricType; samples: Sample[] }

const TYPES = new Set(['counter', 'gauge', 'histogram', 'summary', 'untyped'])
const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/

/** Reads a whole answer. @throws Error with the line that breaks the format */
export function readExposition(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const families = new Map<string, Family>()
  const begun = new Set<string>()
  let current: Family | undefined
  const open = (name: string): Family => {
    if (!METRIC_NAME.test(name)) throw new Error(`"${name}" is no name of a metric`)
    if (current?.name === name) return current
    if (begun.has(name)) throw new Error(`the lines of ${name} do not stand together`)
    begun.add(name)
    current = { name, help: '', type: 'untyped', samples: [] }
    families.set(name, current)
    return current
  }
  for (const line of text.split('\n').slice(0, -1)) {
    try {
      readLine(line, open, () => current)
    } catch (error) {
      throw new Error(`${(error as Error).message}: ${line}`, { cause: error })
    }
  }
  for (const family of families.values()) checkFamily(family)
  return families
}

function readLine(line: string, open: (name: string) => Family, current: () => Family | undefined): void {
  if (/^[ \t]*$/.test(line)) return
  if (line.startsWith('#')) return readComment(line, open)
  const sample = readSample(line)
  const family = current()
  const own = family && (sample.name === family.name || isPartOf(sample.name, family)) ? family : open(sample.name)
  own.samples.push(sample)
}

const isPartOf = (name: string, { name: of, type }: Family): boolean =>
  (type === 'histogram' && [`${of}_bucket`, `${of}_sum`, `${of}_count`].includes(name)) ||
  (type === 'summary' && [`${of}_sum`, `${of}_count`].includes(name))

function readComment(line: string, open: (name: string) => Family): void {
  const match = /^#[ \t]+(HELP|TYPE)[ \t]+(\S+)[ \t]*(.*)$/.exec(line)
  if (!match) return
  const [, kind, name, rest] = match as unknown as [string, string, string, string]
  const family = open(name)
  if (kind === 'HELP') {
    if (family.help !== '') throw new Error('a second HELP')
    family.help = unescape(rest, /\\(.)/g, { '\\': '\\', n: '\n' })
  } else {
    if (!TYPES.has(rest)) throw new Error('an unknown type')
    if (family.samples.length > 0) throw new Error('a TYPE behind its samples')
    family.type = rest as MetricType
  }
}

function readSample(line: string): Sample {
  const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*(\{.*\})?[ \t]+(\S+)(?:[ \t]+(-?\d+))?[ \t]*$/.exec(line)
  if (!match) throw new Error('no sample')
  return { name: match[1]!, labels: readLabels(match[2] ?? '{}'), value: readValue(match[3]!) }
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {}
  const pattern = /\s*([^=,{}\s]+)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|\})/gy
  pattern.lastIndex = 1
  if (/^\{\s*\}$/.test(text)) return labels
  for (;;) {
    const at = pattern.lastIndex
    const match = pattern.exec(text)
    if (!match) {
      if (at === text.length - 1 && at > 1) return labels
      throw new Error('labels that cannot be read')
    }
    const [, name, value, end] = match as unknown as [string, string, string, string]
    if (!LABEL_NAME.test(name)) throw new Error(`"${name}" is no name of a label`)
    if (Object.hasOwn(labels, name)) throw new Error(`the label ${name} appears twice`)
    labels[name] = unescape(value, /\\(.)/g, { '\\': '\\', n: '\n', '"': '"' })
    if (end === '}') {
      if (pattern.lastIndex !== text.length) throw new Error('something behind the labels')
      return labels
    }
  }
}

function unescape(text: string, pattern: RegExp, known: Record<string, string>): string {
  return text.replace(pattern, (_whole, letter: string) => {
    const meant = known[letter]
    if (meant === undefined) throw new Error(`an unknown escape \\${letter}`)
    return meant
  })
}

/** As Go's ParseFloat, which ignores the case of its special values. */
function readValue(text: string): number {
  const special = /^([+-]?)(inf|infinity)$|^nan$/i.exec(text)
  if (special) return special[2] === undefined ? Number.NaN : special[1] === '-' ? -Infinity : Infinity
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) throw new Error('a value that is no number')
  return Number(text)
}

const keyOf = (labels: Record<string, string>): string =>
  JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)))

function checkFamily(family: Family): void {
  const seen = new Set<string>()
  for (const { name, labels, value } of family.samples) {
    const key = `${name} ${keyOf(labels)}`
    if (seen.has(key)) throw new Error(`${key} appears twice`)
    seen.add(key)
    if (family.type === 'counter' && !(value >= 0)) throw new Error(`the counter ${key} is ${value}`)
  }
  if (family.type === 'histogram') checkHistogram(family)
}

function checkHistogram({ name, samples }: Family): void {
  const series = new Map<string, { buckets: [number, number][]; sum?: number; count?: number }>()
  for (const {
    name: part,
    labels: { le, ...labels },
    value,
  } of samples) {
    const key = keyOf(labels)
    const one = series.get(key) ?? { buckets: [] }
    series.set(key, one)
    if (part === `${name}_sum`) one.sum = value
    else if (part === `${name}_count`) one.count = value
    else if (le === undefined) throw new Error(`${part}${key} has no le`)
    else one.buckets.push([readValue(le), value])
  }
  for (const [key, { buckets, sum, count }] of series) {
    if (sum === undefined || count === undefined) throw new Error(`the histogram ${name}${key} has no sum or no count`)
    buckets.forEach(([bound, value], index) => {
      const before = buckets[index - 1]
      if (before && (bound <= before[0] || value < before[1]))
        throw new Error(`the buckets of ${name}${key} do not grow`)
    })
    const last = buckets.at(-1)
    if (last?.[0] !== Infinity || last[1] !== count)
      throw new Error(`the last bucket of ${name}${key} is not its count`)
  }
}

/** The value of one sample with these labels; undefined if there is none. */
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
