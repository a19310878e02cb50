/** Which version of the catalogue a process uses: the same in all of them, within seconds. */
import type { Registry } from 'prom-client'
import type { CatalogueHolder } from '../catalogue/holder.ts'
import { only, showGauge } from './gauges.ts'

/** Shows the version of this process; no value before the first version. */
export function measureCatalogue(registry: Registry, catalogue: Pick<CatalogueHolder, 'version'>): void {
  showGauge(registry, { name: 'catalogue_version', help: 'The version of the catalogue that this process uses.' }, () =>
    only(catalogue.version() ?? undefined),
  )
}
