import type { ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { textColourOn } from '../../pages/colour.ts'
import { api, dataOf, RequestError } from '../api.ts'
import { Confirmation, Dialog } from '../parts/dialog.tsx'
import { keepFocus } from '../parts/focus.ts'
import { ErrorBox } from '../parts/load.tsx'
import { Notices } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { ignoreRepeatedPresses } from '../parts/press.ts'
import { leaveFor, mayLeave, noteView } from '../parts/unsaved.tsx'
import { endedBecause, isPortal, may, noteToken, signOut, token } from '../session.ts'
import { isHelpOpen, listenForKeys } from './keyboard.ts'
import { isWithin, sections } from './sections.ts'
import { SignIn, SignInAgain } from './sign-in.tsx'

/** The frame of every view: navigation, keys, notices and questions. */
export function Shell({ children }: { children: ComponentChildren }) {
  const { path, url, route } = useLocation()
  const [isMenuOpen, setMenuOpen] = useState(false)
  const menuButton = useRef<HTMLButtonElement>(null)
  useLayoutEffect(() => listenForKeys((href) => void leaveFor(href)), [])
  useEffect(() => noteView({ url, open: route }), [url])
  useEffect(() => ignoreRepeatedPresses(), [])
  useEffect(() => keepFocus(), [])
  useEffect(() => setMenuOpen(false), [path])
  useEffect(() => {
    if (!isMenuOpen) return
    const onKey = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape') return
      setMenuOpen(false)
      menuButton.current?.focus() // the link that has the focus is hidden
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [isMenuOpen])
  useEffect(() => void findRole(), [token.value])
  const section = sections.find((one) => isWithin(path, one))
  const mustSignIn = token.value === undefined && path !== '/docs'
  if (mustSignIn && (isPortal || endedBecause.value === undefined)) return <SignIn />
  return (
    <div class={isMenuOpen ? 'shell open' : 'shell'}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="bar">
        <Brand />
        <button
          type="button"
          ref={menuButton}
          aria-expanded={isMenuOpen}
          aria-controls="menu"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          Menu
        </button>
      </header>
      <nav id="menu" class="menu" aria-label="Sections">
        <ul>
          {sections
            .filter((section) => may(section.role ?? 'viewer'))
            .map((section) => (
              <li key={section.href}>
                <a
                  href={section.href}
                  aria-current={isWithin(path, section) ? 'page' : undefined}
                  onClick={() => setMenuOpen(false)}
                >
                  {section.title}
                </a>
              </li>
            ))}
        </ul>
        <div class="foot">
          <button type="button" class="plain" onClick={() => (isHelpOpen.value = true)}>
            Keyboard <kbd>?</kbd>
          </button>
          {token.value !== undefined && (
            <button type="button" class="plain" onClick={async () => (await mayLeave()) && signOut()}>
              Sign out
            </button>
          )}
        </div>
      </nav>
      <main id="main" tabIndex={-1}>
        {section && !may(section.role ?? 'viewer') ? <Forbidden title={section.title} /> : <View>{children}</View>}
      </main>
      {mustSignIn ? (
        <SignInAgain />
      ) : (
        <>
          <Notices />
          <Confirmation />
          {isHelpOpen.value && <Help />}
        </>
      )}
    </div>
  )
}

/** Shows the error of a view that cannot be drawn, until another one is opened. */
function View({ children }: { children: ComponentChildren }) {
  const { url } = useLocation()
  const [error, reset] = useErrorBoundary()
  useEffect(() => reset, [url])
  if (error === undefined) return <>{children}</>
  return (
    <Page title="This page cannot be shown">
      <ErrorBox error={error} retry={reset} />
    </Page>
  )
}

/** A page whose every request would be refused. */
function Forbidden({ title }: { title: string }) {
  const refused = new RequestError('', 'forbidden', new Response(null, { status: 403 }))
  return (
    <Page title={title}>
      <ErrorBox error={refused} />
    </Page>
  )
}

/** The product's name. In the portal, the name and the colour that the client has chosen for its pages. */
function Brand() {
  const [name, setName] = useState(isPortal ? '' : 'mailkeep')
  useEffect(() => {
    if (!isPortal) return
    dataOf(api.GET('/api/v1/settings/pages', {})).then(
      (settings) => {
        setName(settings.name ?? 'Webhooks')
        if (settings.colour) colourButtons(settings.colour)
      },
      () => {}, // the page below shows the error
    )
  }, [token.value])
  return (
    <a class="brand cut" href={isPortal ? '/portal' : '/'} title={isPortal ? name : undefined}>
      {name}
    </a>
  )
}

function colourButtons(colour: string): void {
  const { style } = document.documentElement
  style.setProperty('--accent-ground', colour)
  style.setProperty('--on-accent', textColourOn(colour))
}

const roleRetryMs = 3000

async function findRole(): Promise<void> {
  const asked = token.value
  if (asked === undefined || isPortal) return
  try {
    const current = await dataOf(api.GET('/api/v1/tokens/current'))
    if (asked !== token.value) return
    noteToken(current)
  } catch {
    // Each view shows that the server cannot be reached.
    setTimeout(() => asked === token.value && findRole(), roleRetryMs)
  }
}

/** The keys. It closes when another view is opened. */
function Help() {
  const { path } = useLocation()
  const close = () => {
    isHelpOpen.value = false
  }
  useEffect(() => close, [path])
  const keys: readonly (readonly [string, string])[] = [
    ['/', 'Search or filter, if the page can'],
    ['n', 'Create, if the page can'],
    ['j', 'Next row'],
    ['k', 'Previous row'],
    ['?', 'This help'],
    ...sections.map(({ key, title }) => [`g ${key}`, title] as const),
  ]
  return (
    <Dialog title="Keyboard" close={close}>
      <dl class="keys body">
        {keys.map(([key, title]) => (
          <div key={key}>
            <dt>
              {key.split(' ').map((part) => (
                <kbd key={part}>{part}</kbd>
              ))}
            </dt>
            <dd>{title}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
