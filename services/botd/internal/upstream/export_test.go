package upstream

// RefusePrivate is the guard's check of one resolved address.
var RefusePrivate = refusePrivate
