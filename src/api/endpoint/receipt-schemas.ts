/** The receipt of a call, in answers. */
import { z } from 'zod'
import { RECEIPT_UNITS, RECEIPT_WHATS } from '../../shared/terms/receipts.ts'

const decimal = z.string().regex(/^-?\d+(\.\d+)?$/)

/** What a call was charged for, line by line. */
export const receipt = z
  .array(
    z
      .strictObject({
        what: z.enum(RECEIPT_WHATS).meta({
          description:
            'What was used, or: `minimum`, what the least price of a call adds; `group`, what the share of a group ' +
            'takes off; `limit`, what the bound of what was held takes off; `rounding` up to whole credits; ' +
            '`uncollected`, what became debt; `held` and `refund` of a call that runs or failed; `call`, all of a ' +
            'call whose quantities were not stored.',
        }),
        quantity: decimal,
        unit: z.enum(RECEIPT_UNITS),
        credits: decimal.meta({ description: 'Signed credits, as an exact decimal.' }),
      })
      .meta({ id: 'ReceiptLine' }),
  )
  .meta({ description: 'What the call was charged for. The credits add up to `credits` of the call, exactly.' })

/** What the price of a call depends on, where that is not its tokens. */
export const measured = z
  .strictObject({
    units: z.int().nullable().meta({ description: 'Speech: characters. Rankings: searches.' }),
    seconds: z.number().nullable().meta({ description: 'Videos and transcriptions.' }),
    resolution: z.string().nullable(),
    size: z.string().nullable(),
    quality: z.string().nullable(),
  })
  .meta({ description: 'What the price of the call depends on, as it was asked for or as it came.' })
