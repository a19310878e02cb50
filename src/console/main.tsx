/** The console in the browser. */
import { render } from 'preact'
import { LocationProvider } from 'preact-iso'
import '@picocss/pico/css/pico.min.css'
import '@fontsource-variable/inter/wght.css'
import './style/console.css'
import './style/parts.css'
import './style/playground.css'
import './style/operator.css'
import './state/theme.ts'
import { language } from './language/language.ts'
import { App } from './app.tsx'
import { BannerBar } from './parts/banner.tsx'

const PAGES = [
  'sign-in',
  'sign-up',
  'forgot',
  'overview',
  'calls',
  'playground',
  'gallery',
  'keys',
  'members',
  'webhooks',
  'credits',
  'models',
  'settings',
  'operator',
  'dev',
  'docs',
  'help',
]

/** Links to these are links to pages of ours; all others are the browser's. */
const OURS = new RegExp(`^/(?:$|\\?|#|(?:${PAGES.join('|')})(?:[/?#]|$))`)

document.documentElement.lang = language

/** Its place is gone where a file of the document could not be loaded (/pages/updating.js). */
const place = document.getElementById('console')
if (place)
  render(
    <LocationProvider scope={OURS}>
      <BannerBar />
      <App />
    </LocationProvider>,
    place,
  )
