/** Certificates for servers of tests, made with openssl. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folder = mkdtempSync(join(tmpdir(), 'mailkeep-tls-'))
process.once('exit', () => rmSync(folder, { recursive: true }))

function openssl(...words: string[]): void {
  execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' })
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** The certificate of the test authority; undefined without openssl. */
export const authority = makeAuthority()

function makeAuthority(): string | undefined {
  try {
    openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=authority')
    return readFileSync(join(folder, 'ca.pem'), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}

interface CertificateOptions {
  /** The IP address that the certificate is for. */
  readonly address?: string
  /** The host name that it is for, if it is for no address. */
  readonly host?: string
  /** Days until it expires. */
  readonly days?: string
  readonly selfSigned?: boolean
  readonly rsa?: boolean
}

/** Creates a certificate, signed by the test authority or self-signed. */
export function certificate(
  of: string,
  { address, host, days = '2', selfSigned = false, rsa = false }: CertificateOptions,
) {
  const key = rsa ? ['-newkey', 'rsa:2048', '-nodes'] : newKey
  const subject = ['-subj', `/CN=${of}`, '-addext', `subjectAltName=${address ? `IP:${address}` : `DNS:${host}`}`]
  if (selfSigned) openssl('req', '-x509', ...key, '-keyout', `${of}.key`, '-out', `${of}.pem`, ...subject)
  else {
    openssl('req', ...key, '-keyout', `${of}.key`, '-out', `${of}.csr`, ...subject)
    const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-copy_extensions', 'copy', '-days', days]
    openssl('x509', '-req', '-in', `${of}.csr`, ...signed, '-out', `${of}.pem`)
  }
  return { key: readFileSync(join(folder, `${of}.key`)), cert: readFileSync(join(folder, `${of}.pem`)) }
}
