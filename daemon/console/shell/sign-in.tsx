import { useEffect } from 'preact/hooks'
import { errorOf, RequestError } from '../api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Field, Form, textOf } from '../parts/form.tsx'
import { endedBecause, isPortal, noteToken, signIn } from '../session.ts'

/** Asks for an API token, and tries it. */
export function SignIn() {
  useEffect(() => {
    document.title = isPortal ? 'Webhooks' : 'Sign in · mailkeep'
  }, [])
  if (isPortal) {
    return (
      <main class="sign-in">
        <h1>The link is no longer valid</h1>
        <p>Open this page again from where you found it.</p>
      </main>
    )
  }
  return (
    <main class="sign-in">
      <h1>mailkeep</h1>
      <TokenForm />
      <p class="muted">
        The first start prints a token or writes it to a file. <code>mailkeep token create</code> makes another.
      </p>
      <p>
        <a href="/docs">API documentation</a>
      </p>
    </main>
  )
}

/** Asks for a token over the page whose session has ended. What is written there stays. */
export function SignInAgain() {
  return (
    <Dialog title="Sign in again" isRequired close={() => {}}>
      <div class="body">
        <p role="alert">{endedBecause.value} What you have written stays on the page.</p>
      </div>
      <TokenForm />
    </Dialog>
  )
}

function TokenForm() {
  return (
    <Form action="Sign in" asksBeforeLeaving={false} submit={(fields) => tryToken(textOf(fields, 'token'))}>
      <Field
        label="API token"
        name="token"
        type="password"
        required
        hint="It stays in this tab. Closing the tab signs out."
        pattern="\s*[A-Za-z0-9._~+\/\-]+=*\s*"
      />
    </Form>
  )
}

async function tryToken(given: string): Promise<void> {
  const response = await fetch('/api/v1/tokens/current', { headers: { Authorization: `Bearer ${given}` } }).catch(
    () => {
      throw new RequestError('The server cannot be reached.', 'no_connection')
    },
  )
  if (response.status === 401) {
    throw new RequestError(
      'This token is not valid. It may have expired, or been revoked.',
      'unauthenticated',
      response,
    )
  }
  const answer = await response.json().catch(() => undefined)
  if (!response.ok) throw errorOf(response, answer)
  noteToken(answer.data)
  signIn(given)
}
