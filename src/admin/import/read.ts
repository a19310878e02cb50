/** Reads the database of another gateway: as a plan of what is imported, and as a draft of a catalogue. */
import type { ImportKind, ImportPlan, Listed } from '../../shared/operators/import/plan.ts'
import { catalogueOf } from './draft/catalogue.ts'
import type { Draft } from './draft/draft.ts'
import type { DraftFolder, WrittenDraft } from './draft/write.ts'
import { writeFiles } from './draft/write.ts'
import { readLitellmDraft } from './litellm/draft.ts'
import { readLitellmPlan } from './litellm/plan.ts'
import { VERSIONS } from './litellm/tables.ts'
import { NEW_API } from './new-api/gateway.ts'
import { readQuotaDraft } from './one-api/draft.ts'
import { ONE_API } from './one-api/gateway.ts'
import { readQuotaPlan } from './one-api/plan.ts'
import type { ImportRules } from './rules.ts'
import { withSource } from './sources/open.ts'
import type { Reading } from './tables.ts'

export type { ImportRules } from './rules.ts'
export { readRules } from './rules.ts'

/** A gateway: its versions that are read, and how. */
type Gateway = {
  versions: string
  plan: (reading: Reading, rules: ImportRules) => Promise<ImportPlan>
  draft: (reading: Reading, rules: ImportRules) => Promise<Draft>
}

const GATEWAYS: Record<ImportKind, Gateway> = {
  litellm: { versions: VERSIONS, plan: readLitellmPlan, draft: readLitellmDraft },
  'new-api': {
    versions: NEW_API.versions,
    plan: (reading, rules) => readQuotaPlan(reading, rules, NEW_API.leftOut),
    draft: (reading, rules) => readQuotaDraft(reading, rules, NEW_API),
  },
  'one-api': {
    versions: ONE_API.versions,
    plan: (reading, rules) => readQuotaPlan(reading, rules, ONE_API.leftOut),
    draft: (reading, rules) => readQuotaDraft(reading, rules, ONE_API),
  },
}

/**
 * What a source contains, as it is at one moment.
 * @throws CommandError if it cannot be read, or is not a database of this gateway
 */
export const readPlan = (kind: ImportKind, source: string, rules: ImportRules): Promise<ImportPlan> =>
  withSource(source, (open) =>
    GATEWAYS[kind].plan({ source: open, versions: GATEWAYS[kind].versions, listed: [] }, rules),
  )

/**
 * Writes the channels and models of a source as a draft of a catalogue, with the list of variables that it needs.
 * Secrets are written only `withSecrets`, to a file of its own.
 * @throws CommandError as `readPlan`, and if the folder already has a draft
 */
export async function writeDraft(
  kind: ImportKind,
  source: string,
  rules: ImportRules,
  to: DraftFolder,
): Promise<WrittenDraft & { listed: Listed[] }> {
  const listed: Listed[] = []
  const draft = await withSource(source, (open) =>
    GATEWAYS[kind].draft({ source: open, versions: GATEWAYS[kind].versions, listed }, rules),
  )
  return { ...writeFiles(catalogueOf(draft, rules, listed), draft, to), listed }
}
