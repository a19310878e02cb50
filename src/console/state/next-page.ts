/** The page after a sign-in: only paths of our own, so that no link leads elsewhere. Browsers skip control characters. */
export const safeNext = (next = ''): string => (/^\/(?![/\\])[^\p{Cc} ]*$/u.test(next) ? next : '/overview')
