/**
 * The banner above every page, also for those who are not signed in.
 */
import { banner, dismiss } from '../state/banner.ts'

const WORDS = { info: 'Notice', warning: 'Warning', critical: 'Important' } as const

/** A live region that is always there, so that screen readers announce its content. */
export function BannerBar() {
  const shown = banner.value
  return (
    <aside aria-label="Announcement" aria-live={shown?.level === 'critical' ? 'assertive' : 'polite'}>
      {shown && (
        <div class={`banner ${shown.level}`} data-testid="banner">
          <p>
            <strong>{WORDS[shown.level]}:</strong> {shown.text}
          </p>
          <button type="button" class="small quiet" onClick={() => dismiss(shown)}>
            Dismiss
          </button>
        </div>
      )}
    </aside>
  )
}
