/**
 * The banner that operators set: asked for when a page is opened, and again every minute while the page is visible.
 */
import { computed, signal } from '@preact/signals'
import { getBanner } from '../api/endpoints.ts'
import type { Banner } from '../api/endpoints.ts'
import { isSiteKnown, site } from './site.ts'

const REFRESH_MS = 60_000

/** Where this browser remembers which banner was dismissed. */
const PLACE = 'tollgate.dismissed-banner'

const standing = signal<Banner | null>(null)

const dismissed = signal(read())

/** The banner to show: the current one, unless it was dismissed here. */
export const banner = computed(() => (standing.value?.id === dismissed.value ? null : standing.value))

/** Asks for the banner; a failure changes nothing that is shown. */
export async function loadBanner(): Promise<void> {
  const answer = await getBanner().catch(() => null)
  isSiteKnown.value = true
  if (!answer) return
  standing.value = answer.banner
  // Anew only where it differs: what shows it is not drawn again each minute.
  if (JSON.stringify(answer.site) !== JSON.stringify(site.value)) site.value = answer.site
}

/** Shows a banner no more in this browser; another one is shown. */
export function dismiss({ id }: Banner): void {
  dismissed.value = id
  try {
    localStorage.setItem(PLACE, id)
  } catch {
    // A browser that keeps nothing shows it again.
  }
}

function read(): string | null {
  try {
    return localStorage.getItem(PLACE)
  } catch {
    return null
  }
}

void loadBanner()
setInterval(() => {
  if (document.visibilityState === 'visible') void loadBanner()
}, REFRESH_MS)
