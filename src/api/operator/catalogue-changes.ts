/**
 * What differs between two versions of the catalogue, as answers and conflicts list it.
 */
import { z } from 'zod'

/** What differs between two versions of the catalogue. */
export const catalogueChanges = z
  .array(
    z.strictObject({
      part: z.enum(['model', 'upstream', 'group', 'setting']),
      name: z.string(),
      change: z.enum(['added', 'removed', 'changed']),
      fields: z
        .array(z.strictObject({ path: z.string(), before: z.unknown(), after: z.unknown() }))
        .meta({ description: 'What differs; of a part that was added or removed, the whole with an empty path.' }),
    }),
  )
  .meta({ description: 'What differs, model by model.' })
