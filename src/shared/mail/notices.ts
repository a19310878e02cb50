/** What mails report and other modules read for them, as it is when the mail is sent. */

/**
 * That `percent` of a budget were `used`, without what running calls hold: of a key, by its name, or of a member of an
 * organisation, who may be the reader. `resetsAt`: when its window ends; null for a total.
 */
export type BudgetNotice = {
  whose: { key: string } | { email: string; organisation: string; isYou: boolean }
  percent: 80 | 100
  used: number
  credits: number
  resetsAt: Date | null
}

/** What the mail of an invitation reports; `isOfToken`: whether a token is the one that accepts it. */
export type InvitationNotice = {
  organisation: string
  invitedBy: string
  role: 'admin' | 'member'
  isOfToken: (token: string) => boolean
}
