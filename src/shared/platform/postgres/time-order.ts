/** How lists in pages are ordered by time: the direction, and the comparison with a place that what follows it has. */
export const TIME_ORDERS = {
  newest: { direction: 'desc', follows: '<' },
  oldest: { direction: 'asc', follows: '>' },
} as const
export type TimeOrder = keyof typeof TIME_ORDERS
