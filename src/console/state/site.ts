/**
 * Whose installation this is: the operator's name and logo, and whether visitors see the models. It comes with the
 * banner, which every page asks for.
 */
import { signal } from '@preact/signals'
import type { Site } from '../api/endpoints.ts'

/** What is shown until it is known. */
export const site = signal<Site>({ name: 'Tollgate', logo: null, publicCatalogue: false })

/** Whether it is known, or could not be loaded. */
export const isSiteKnown = signal(false)

/** The title of the document for a page. */
export const titleOf = (page: string): string => `${page} · ${site.value.name}`
