import { Page } from '../parts/page.tsx'
export function Import() {
  return <Page title="Import">{null}</Page>
}
