/** The page after a sign-in: a path of ours, so that no link leads elsewhere. Browsers skip control characters. */
export const safeNext = (next = ''): string => (/^\/(?![/\\])[^\p{Cc} ]*$/u.test(next) ? next : '/overview')
