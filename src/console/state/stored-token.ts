/**
 * The session token as this browser keeps it: in sessionStorage, which ends with the tab, or in localStorage where
 * "stay signed in" was chosen (docs/console.md has the risks of both).
 */
export const TOKEN_KEY = 'tollgate.session'

/** The token in one place; null if none is, or where the browser forbids storage. */
export function read(storage: () => Storage): string | null {
  try {
    return storage().getItem(TOKEN_KEY)
  } catch {
    return null
  }
}

/** The token; null if nobody is signed in, or nothing can be stored. */
export const storedToken = (): string | null => read(() => sessionStorage) ?? read(() => localStorage)
