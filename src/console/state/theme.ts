/**
 * Light or dark: the system's choice, or the one made in the settings, stored in this browser.
 */
import { effect, signal } from '@preact/signals'

const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const PLACE = 'tollgate.theme'
const system = matchMedia('(prefers-color-scheme: dark)')
const systemIsDark = signal(system.matches)
system.addEventListener('change', ({ matches }) => {
  systemIsDark.value = matches
})

function kept(): Theme {
  try {
    return THEMES.find((one) => one === localStorage.getItem(PLACE)) ?? 'system'
  } catch {
    return 'system'
  }
}

export const theme = signal<Theme>(kept())

/** What is shown; charts draw with it. */
export const appliedTheme = signal<'light' | 'dark'>('light')

effect(() => {
  appliedTheme.value = theme.value === 'system' ? (systemIsDark.value ? 'dark' : 'light') : theme.value
  document.documentElement.dataset.theme = appliedTheme.value
})

/** Chooses a theme and keeps the choice where the browser allows it. */
export function chooseTheme(choice: Theme): void {
  theme.value = choice
  try {
    localStorage.setItem(PLACE, choice)
  } catch {
    // It holds until the page is closed.
  }
}
