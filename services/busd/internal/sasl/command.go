package sasl

// command answers one line, given without its CRLF. What a state does not
// take is answered with ERROR and has no other effect, so that a protocol to
// come can be tried on this server (section "ERROR Command").
func (s *Server) command(line, out []byte) ([]byte, error) {
	for _, c := range line {
		if c == 0 || c >= 0x80 {
			return refuse(out, "a command must be ASCII, without NUL")
		}
	}
	name, args := word(line)
	switch s.state {
	case waitingForAuth:
		return s.beforeAuth(name, args, out)
	case waitingForData:
		return s.duringExchange(name, args, out)
	default:
		return s.beforeBegin(name, out)
	}
}

func (s *Server) beforeAuth(name, args, out []byte) ([]byte, error) {
	switch string(name) {
	case "AUTH":
		return s.auth(args, out)
	case "ERROR":
		return s.reject(out)
	case "BEGIN":
		return out, ErrEarlyBegin
	case "DATA", "CANCEL", "NEGOTIATE_UNIX_FD":
		return refuse(out, "send AUTH first")
	}
	return refuse(out, "unknown command")
}

func (s *Server) duringExchange(name, args, out []byte) ([]byte, error) {
	switch string(name) {
	case "DATA":
		if !isHex(args) {
			return refuse(out, notHex)
		}
		return s.step(args, out)
	case "CANCEL", "ERROR":
		return s.reject(out)
	case "BEGIN":
		return out, ErrEarlyBegin
	case "AUTH", "NEGOTIATE_UNIX_FD":
		return refuse(out, "send DATA or CANCEL first")
	}
	return refuse(out, "unknown command")
}

func (s *Server) beforeBegin(name, out []byte) ([]byte, error) {
	switch string(name) {
	case "BEGIN":
		s.state = authenticated
		return out, nil
	case "NEGOTIATE_UNIX_FD":
		if !s.config.CanPassFDs {
			return refuse(out, "this connection cannot pass file descriptors")
		}
		s.fds = true
		return append(out, "AGREE_UNIX_FD\r\n"...), nil
	case "CANCEL", "ERROR":
		return s.reject(out)
	case "AUTH", "DATA":
		return refuse(out, "send BEGIN or CANCEL first")
	}
	return refuse(out, "unknown command")
}

// auth starts an exchange. Its argument is checked before anything changes:
// an AUTH that is answered with ERROR is as if never received.
func (s *Server) auth(args, out []byte) ([]byte, error) {
	name, response := word(args)
	mechanism := ""
	switch string(name) { // not kept, as it is a part of the read buffer
	case External:
		if s.config.Allowed.External {
			mechanism = External
		}
	case CookieSHA1:
		if s.config.Allowed.CookieSHA1 {
			mechanism = CookieSHA1
		}
	case Anonymous:
		if s.config.Allowed.Anonymous {
			mechanism = Anonymous
		}
	}
	if mechanism == "" {
		return s.reject(out)
	}
	if !isHex(response) {
		return refuse(out, notHex)
	}
	s.mechanism = mechanism
	return s.step(response, out)
}

const notHex = "the argument must be an even number of hexadecimal digits"

// refuse answers ERROR. reason must be without quotes and line ends.
func refuse(out []byte, reason string) ([]byte, error) {
	out = append(out, `ERROR "`...)
	out = append(out, reason...)
	return append(out, "\"\r\n"...), nil
}

// reject ends an exchange and goes back to the start. The list of mechanisms
// is the same each time, as it must be (section "REJECTED Command").
func (s *Server) reject(out []byte) ([]byte, error) {
	s.state, s.mechanism, s.cookie = waitingForAuth, "", Cookie{}
	s.asked, s.fds = false, false
	out = append(out, "REJECTED"...)
	if s.config.Allowed.External {
		out = append(out, " "+External...)
	}
	if s.config.Allowed.CookieSHA1 {
		out = append(out, " "+CookieSHA1...)
	}
	if s.config.Allowed.Anonymous {
		out = append(out, " "+Anonymous...)
	}
	out = append(out, crlf...)
	s.rejections++
	if s.rejections >= MaxRejections {
		return out, ErrRejected
	}
	return out, nil
}

// word cuts the first word off a line. Any number of blanks may stand behind
// it, as libdbus has it.
func word(line []byte) (first, rest []byte) {
	i := 0
	for i < len(line) && !blank(line[i]) {
		i++
	}
	first, rest = line[:i], line[i:]
	for len(rest) > 0 && blank(rest[0]) {
		rest = rest[1:]
	}
	return first, rest
}

func blank(c byte) bool { return c == ' ' || c == '\t' }
