/**
 * Organisations, their members and invitations, in answers.
 */
import { z } from 'zod'
import { GIVEN_ROLES, MEMBER_ROLES } from '../../shared/identity/members.ts'
import { budget } from '../../shared/identity/key-fields.ts'
import { PERIODS } from '../../shared/identity/budgets.ts'
import { shownName } from '../../shared/platform/text-fields.ts'
import { credits, id, ok, time } from './answer-schemas.ts'
import { shownBudget } from './key-schemas.ts'

/** What somebody may do for an account. */
const memberRole = z.enum(MEMBER_ROLES).meta({
  description:
    '`owner`: everything. `admin`: everything but deleting the account or handing it over. `member`: own keys, calls ' +
    'and usage.',
})

/** A role that can be given. */
export const givenRole = z.enum(GIVEN_ROLES, { error: `must be one of ${GIVEN_ROLES.join(', ')}` })

/** The name of an organisation. */
export const organisationName = shownName(60)
  .transform((text) => text.trim())
  .refine((text) => text !== '', 'must not be empty')
  .meta({
    description: 'One line of 1 to 60 characters, without URLs, domains and e-mail addresses.',
    examples: ['Analytical Engines Ltd'],
  })

/** The budget that a member is given. */
export const memberBudget = budget.nullish().meta({
  description: 'The most credits that the calls with all their keys of this account may cost in a period; null: none.',
})

/** An organisation, as somebody sees it who acts for it. */
export const organisation = z
  .strictObject({ id: id('acc'), name: z.string(), role: memberRole })
  .meta({ id: 'Organisation' })

/** An organisation that was made or joined. */
export const organisationAnswer = z.strictObject({ ok, organisation })

/** The organisation that a session acts for. */
export const actingFor = {
  organisation: organisation
    .nullable()
    .meta({ description: 'The organisation that the session acts for; null for your own account.' }),
}

/** An account that a user may act for. */
export const actedFor = z
  .strictObject({
    id: id('acc'),
    name: z.string().meta({ description: "An organisation's name; of your own account your display name." }),
    kind: z.enum(['personal', 'organisation']),
    role: memberRole,
    current: z.boolean().meta({ description: 'Whether this session acts for it.' }),
  })
  .meta({ id: 'ActedFor' })

/** A member. */
export const member = z
  .strictObject({
    id: id('usr'),
    email: z.string(),
    displayName: z.string(),
    role: memberRole,
    budget: shownBudget.nullable(),
    joinedAt: time,
  })
  .meta({ id: 'Member' })

/** A member after a change. */
export const memberAnswer = z.strictObject({ ok, member })

/** An invitation that can still be accepted. */
export const invitation = z
  .strictObject({
    id: id('inv'),
    email: z.string(),
    role: z.enum(GIVEN_ROLES),
    budget: z.strictObject({ credits, period: z.enum(PERIODS) }).nullable(),
    invitedBy: z.string().meta({ description: 'The address of the member who sent it.' }),
    createdAt: time,
    expiresAt: time,
  })
  .meta({ id: 'Invitation' })
