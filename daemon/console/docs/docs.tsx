import { Page } from '../parts/page.tsx'
export function Docs() {
  return <Page title="API documentation">{null}</Page>
}
