/** Makes one attempt in a process where undici cannot be loaded, as in a bundle; prints the recorded attempt. */
import { registerHooks } from 'node:module'
import { printAttempt } from './one-attempt.ts'

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'undici') throw new Error('undici is not here')
    return next(specifier, context)
  },
})

await printAttempt('http://127.0.0.1:9/', { allowPrivate: true }, ({ message }) => message)
