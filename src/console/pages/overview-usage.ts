/**
 * The usage of the overview's days, divided by model, key or member.
 */
import { useMemo } from 'preact/hooks'
import type { AccountLatency, ApiKey, UsageRow } from '../api/endpoints.ts'
import { getKeyUsage } from '../api/endpoints.ts'
import { getMemberUsage } from '../api/organisations.ts'
import type { UsedOn } from '../parts/chart.tsx'
import type { Loaded } from '../state/load.ts'
import { useLoad } from '../state/load.ts'
import type { Range } from '../state/overview-range.ts'
import { barOf, daysOf } from '../state/overview-range.ts'

/** The usage of the chart and the table, and what belongs to the names in it. */
export type Divided = {
  usage: Pick<Loaded<unknown>, 'problem' | 'reload'>
  rows: UsedOn[] | undefined
  latencyOf: (name: string) => AccountLatency['all']
  /** What of the calls' address names the calls of one of them. */
  fieldOf: (name: string) => Record<string, string>
}

/** The usage of some days by model. Its rows stay the same ones when the latency comes: the chart is drawn once. */
export function useByModel(usage: Loaded<{ data: UsageRow[] }>, latency: AccountLatency | undefined): Divided {
  const rows = useMemo(
    () => usage.data?.data.map(({ model, modality: _modality, ...row }) => ({ ...row, name: model })),
    [usage.data],
  )
  const latencyOf: Divided['latencyOf'] = (name) => latency?.models.find(({ model }) => model === name) ?? null
  return { usage, rows, latencyOf, fieldOf: (name) => ({ model: name }) }
}

/** The usage of some days by key. A key that was deleted long ago has its id for a name. */
export function useByKey(
  wanted: boolean,
  range: Range,
  keys: ApiKey[] | undefined,
  latency: AccountLatency | undefined,
): Divided {
  const usage = useLoad(wanted ? `key usage ${range.name}` : 'no key usage', async () =>
    wanted ? getKeyUsage(daysOf(range)) : { data: [] },
  )
  const names = useMemo(() => new Map((keys ?? []).map((key) => [key.id, labelOf(key)])), [keys])
  const nameOf = (id: string): string => names.get(id) ?? id
  const rows = useMemo(
    () =>
      keys &&
      usage.data?.data.map(({ keyId, ...row }) => ({ ...row, day: barOf(range.unit, row.day), name: nameOf(keyId) })),
    [usage.data, keys, range],
  )
  const latencyOf: Divided['latencyOf'] = (name) => latency?.keys.find(({ keyId }) => nameOf(keyId) === name) ?? null
  const fieldOf = (name: string) => ({ keyId: keys?.find((key) => labelOf(key) === name)?.id ?? name })
  return { usage, rows, latencyOf, fieldOf }
}

/** The usage of some days by member, by their addresses. Of somebody who left, the id is all that is known. */
export function useByMember(wanted: boolean, range: Range): Divided {
  const usage = useLoad(wanted ? `member usage ${range.name}` : 'no member usage', async () =>
    wanted ? getMemberUsage(daysOf(range)) : { data: [] },
  )
  const rows = useMemo(
    () =>
      usage.data?.data.map(({ memberId, email, ...row }) => ({
        ...row,
        day: barOf(range.unit, row.day),
        name: email ?? memberId,
      })),
    [usage.data, range],
  )
  const fieldOf = (name: string) => ({
    memberId: usage.data?.data.find(({ email }) => email === name)?.memberId ?? name,
  })
  return { usage, rows, latencyOf: () => null, fieldOf }
}

/** The name of a key, with which people recognise it. */
export const labelOf = ({ name, hint }: ApiKey): string => `${name} (${hint})`
