/**
 * Whether credits can be bought here, and what was settled about it.
 */
import type { Billing } from '../api/billing.ts'
import { getBilling } from '../api/billing.ts'
import { account } from './account.ts'
import type { Loaded } from './load.ts'
import { useLoad } from './load.ts'

/** Who takes the money, and the operator's text where nobody does; undefined until the account is known. */
export const buying = () => account.value?.buying

/** What is for sale and how it is paid. Only where there is a provider. */
export const useBilling = (): Loaded<Billing> => useLoad('billing', getBilling)
