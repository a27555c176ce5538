import { render } from 'preact'
import { LocationProvider, Route, Router } from 'preact-iso'
import { AuditLog } from './audit/audit-log.tsx'
import { ContactPage } from './contacts/contact.tsx'
import { Contacts } from './contacts/contacts.tsx'
import { Docs } from './docs/docs.tsx'
import { ListPage } from './groups/list.tsx'
import { Lists } from './groups/lists.tsx'
import { Tags } from './groups/tags.tsx'
import { Identities } from './identities/identities.tsx'
import { Import } from './import/import.tsx'
import { NewsletterPage } from './newsletters/newsletter.tsx'
import { Newsletters } from './newsletters/newsletters.tsx'
import { Overview } from './overview/overview.tsx'
import { PageSettingsPage } from './pages/page-settings.tsx'
import { Page } from './parts/page.tsx'
import { askBeforeLeaving } from './parts/unsaved.tsx'
import { Segments } from './segments/segments.tsx'
import { SequencePage } from './sequences/sequence.tsx'
import { Sequences } from './sequences/sequences.tsx'
import { isPortal, sessionNumber } from './session.ts'
import { Shell } from './shell/shell.tsx'
import { Suppressions } from './suppressions/suppressions.tsx'
import { Tokens } from './tokens/tokens.tsx'
import { Deliveries } from './webhooks/deliveries.tsx'
import { DeliveryPage } from './webhooks/delivery.tsx'
import { EndpointPage } from './webhooks/endpoint.tsx'
import { Endpoints } from './webhooks/endpoints.tsx'

function Console() {
  return (
    <LocationProvider>
      {/* The key: nothing of the last session may stay on the page. */}
      <Shell key={sessionNumber.value}>
        <Router>
          <Route path="/" component={Overview} />
          <Route path="/console" component={Overview} />
          <Route path="/console/contacts" component={Contacts} />
          <Route path="/console/contacts/:contactId" component={ContactPage} />
          <Route path="/console/import" component={Import} />
          <Route path="/console/lists" component={Lists} />
          <Route path="/console/lists/:listId" component={ListPage} />
          <Route path="/console/tags" component={Tags} />
          <Route path="/console/segments" component={Segments} />
          <Route path="/console/suppressions" component={Suppressions} />
          <Route path="/console/pages" component={PageSettingsPage} />
          <Route path="/console/newsletters" component={Newsletters} />
          <Route path="/console/newsletters/:newsletterId" component={NewsletterPage} />
          <Route path="/console/sequences" component={Sequences} />
          <Route path="/console/sequences/:sequenceId" component={SequencePage} />
          <Route path="/console/webhooks" component={Endpoints} />
          <Route path="/console/webhooks/:endpointId" component={EndpointPage} />
          <Route path="/console/webhooks/:endpointId/deliveries/:deliveryId" component={DeliveryPage} />
          <Route path="/console/deliveries" component={Deliveries} />
          <Route path="/console/identities" component={Identities} />
          <Route path="/console/tokens" component={Tokens} />
          <Route path="/console/audit" component={AuditLog} />
          <Route path="/portal" component={Endpoints} />
          <Route path="/portal/deliveries" component={Deliveries} />
          <Route path="/portal/:endpointId" component={EndpointPage} />
          <Route path="/portal/:endpointId/deliveries/:deliveryId" component={DeliveryPage} />
          <Route path="/docs" component={Docs} />
          <Route default component={NotFound} />
        </Router>
      </Shell>
    </LocationProvider>
  )
}

function NotFound() {
  return (
    <Page title="Not found">
      <p class="state">
        There is no such page.{' '}
        {isPortal ? <a href="/portal">Go to the webhooks.</a> : <a href="/">Go to the overview.</a>}
      </p>
    </Page>
  )
}

askBeforeLeaving()
render(<Console />, document.getElementById('app')!)
