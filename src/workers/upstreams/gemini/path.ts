/** The paths of the Gemini API, which name the model and the method. */
import type { Route } from '../../../shared/catalogue/catalogue.ts'

/** The end of a base address that names the version of the API. */
const VERSION = /\/v\d+\w*$/

/** The path of a method of a route's model. Base addresses are written with and without the version. */
export const pathOf = ({ model, upstream }: Pick<Route, 'model' | 'upstream'>, method: string): string =>
  `${VERSION.test(upstream.baseUrl) ? '' : '/v1beta'}/models/${encodeURIComponent(model)}:${method}`
